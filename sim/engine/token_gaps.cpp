#include "sim/engine/token_gaps.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace tokenline {

void TokenGaps::started(TimePoint when, std::uint32_t class_index) {
  if (base_total_ == 0 && fresh_.empty()) base_time_ = when;
  if (when == base_time_) {
    ++base_[class_index];
    ++base_total_;
    return;
  }
  if (!fresh_.empty() && fresh_.back().when == when && fresh_.back().class_index == class_index)
    ++fresh_.back().count;
  else
    fresh_.push_back({when, class_index, 1});
}

void TokenGaps::stopped(TimePoint when, std::uint32_t class_index, bool decoded) {
  if (!decoded && when != base_time_) {
    const auto group = std::ranges::find_if(fresh_, [&](const Group& g) {
      return g.when == when && g.class_index == class_index && g.count > 0;
    });
    TOKENLINE_CHECK(group != fresh_.end(), "no sequence of class {} started at {} ns", class_index,
                    when.time_since_epoch().count());
    --group->count;
    return;
  }
  --base_[class_index];
  --base_total_;
  TOKENLINE_CHECK(base_[class_index] >= 0, "class {} has {} decoding sequences", class_index,
                  base_[class_index]);
}

void TokenGaps::decoded(TimePoint now, std::vector<stats::Histogram>& histograms) {
  for (std::size_t c = 0; c < base_.size(); ++c)
    if (base_[c] > 0) histograms[c].add(now - base_time_, base_[c]);
  for (const Group& group : fresh_) {
    if (group.count == 0) continue;
    histograms[group.class_index].add(now - group.when, group.count);
    base_[group.class_index] += group.count;
    base_total_ += group.count;
  }
  fresh_.clear();
  base_time_ = now;
}

}  // namespace tokenline
