#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tokenline::vllm {

/// What a model of vLLM's command line is here.
struct NamedModel {
  std::string model;           ///< A name of `tokenline list models`, or a config.json.
  std::string quantization;    ///< For engine.quantization, where the name says one; else empty.
  std::string unmodelled;      ///< A quantisation of the name that nothing here prices; else empty.
  std::int64_t positions = 0;  ///< Where the checkpoint has fewer than the preset; else 0.
};

/// The built-in model that a Hugging Face name, its last part or a folder of a model means, or the
/// config.json in such a folder. `-FP8` and the like (RedHatAI's, NVIDIA's) are the model beside
/// its quantisation. Empty for any other name.
[[nodiscard]] std::optional<NamedModel> find_model(const std::string& name);

/// The Hugging Face name of a built-in model; a config.json's folder. Empty for a name without one.
[[nodiscard]] std::string repository_of(std::string_view model);

/// The nearest Hugging Face names, as a hint.
[[nodiscard]] std::string model_hint(const std::string& name);

}  // namespace tokenline::vllm
