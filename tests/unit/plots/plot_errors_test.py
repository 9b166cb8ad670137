"""tools/plot_errors.py: rows become points of one SVG, bad rows are met at their line."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
import plot_errors  # noqa: E402

HEADER = "group,metric,unit,label,measured,predicted,error_pct,refused\n"


class PlotErrors(unittest.TestCase):
    def plot(self, rows, *options):
        """Exit code, SVG (empty if none was written) and what was said on standard error."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "rows.csv")
            target = pathlib.Path(folder, "plot.svg")
            source.write_text(rows, encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                code = plot_errors.main([*options, str(source), str(target)])
            text = target.read_text(encoding="utf-8") if target.exists() else ""
            return code, text, said.getvalue()

    def test_the_plot_is_one_well_formed_svg_with_a_legend_per_operator(self):
        code, text, _ = self.plot(
            HEADER + "g gemm bfloat16,time,us,m=1,10,11,10,\n"
            "g gemm fp8,time,us,m=1,100,130,30,\n"
            "g collectives all_reduce nccl,time,us,gpus=2,5,5,0,\n", "--title", "A & B")
        self.assertEqual(code, 0)
        xml.etree.ElementTree.fromstring(text)
        self.assertIn("A &amp; B", text)
        self.assertIn("gemm: 2 rows, 20.0 %", text)
        self.assertIn("collectives: 1 rows, 0.0 %", text)

    def test_a_right_prediction_lies_on_the_diagonal(self):
        axis = plot_errors.Axis([1.0, 100.0])
        self.assertEqual(plot_errors.thinned([(10.0, 10.0)], axis, 1.0),
                         [(plot_errors.SIZE // 2, plot_errors.SIZE // 2)])

    def test_refused_rows_are_left_out(self):
        code, text, _ = self.plot(HEADER + "g gemm a,time,us,x,10,11,10,\ng moe b,time,us,x,1,,,no\n")
        self.assertEqual(code, 0)
        self.assertNotIn("moe", text)

    def test_many_rows_stay_few_points(self):
        rows = "".join(f"g gemm a,time,us,x,{i},{i * (1 + i % 7 / 10)},0,\n"
                       for i in range(1, 20_000))
        code, text, _ = self.plot(HEADER + rows)
        self.assertEqual(code, 0)
        self.assertLess(len(text), 150_000)

    def test_mistakes_are_exit_code_2_at_their_line(self):
        for rows, message in (("a,b\n1,2\n", ":1: the header lacks group"),
                              (HEADER, "no row was predicted"),
                              (HEADER + "g gemm a,time,us,x,ten,11,,\n", ":2: a time is not"),
                              (HEADER + "g gemm a,time,us,x,0,11,,\n", ":2: not a positive time"),
                              (HEADER + "g gemm a,time,ms,x,1,11,,\n", ":2: not a positive time")):
            code, text, said = self.plot(rows)
            self.assertEqual((code, text), (2, ""))
            self.assertIn(message, said)

    def test_a_missing_file_is_named(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(plot_errors.main(["/nowhere.csv", "/tmp/x.svg"]), 2)
        self.assertIn("/nowhere.csv", said.getvalue())


if __name__ == "__main__":
    unittest.main()
