#include "tools/python/errors.hpp"

#include <nanobind/nanobind.h>

#include <exception>
#include <filesystem>

#include "sim/base/check.hpp"
#include "sim/config/diagnostic.hpp"
#include "sim/report/run_directory.hpp"

namespace nb = nanobind;

namespace tokenline::python {
namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("tokenline._errors").attr(name);
}

void raise(const char* name, const nb::object& error) {
  PyErr_SetObject(error_class(name).ptr(), error.ptr());
}

void raise_config_error(const config::ConfigError& error) {
  const nb::object diagnostic = error_class("Diagnostic");
  nb::list diagnostics;
  for (const config::Diagnostic& d : error.diagnostics())
    diagnostics.append(diagnostic(d.where.file.c_str(), d.where.line, d.where.column,
                                  d.path.c_str(), d.message.c_str(), d.hint.c_str()));
  raise("ConfigError", error_class("ConfigError")(error.what(), diagnostics));
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const config::ConfigError& error) {
    raise_config_error(error);
  } catch (const report::OutputError& error) {
    raise("OutputError", error_class("OutputError")(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    raise("OutputError", error_class("OutputError")(error.what()));
  } catch (const InternalError& error) {
    raise("InternalError", error_class("InternalError")(error.what()));
  }
}

}  // namespace

void register_errors() { nb::register_exception_translator(translate); }

}  // namespace tokenline::python
