#include "grbm/train/options.h"

#include <fmt/core.h>

#include <string>

namespace grbm {

namespace {

// Of a setting that every parameter has one of.
struct FieldText {
  std::string name;
  std::string help;
};
using FieldTexts = std::vector<FieldText>;

// {}: the parameter.
FieldTexts TextsOf(std::string_view name, std::string_view help) {
  FieldTexts texts;
  for (const auto& tensor : Parameters().Tensors()) {
    texts.push_back({fmt::format(fmt::runtime(name), tensor.name), fmt::format(fmt::runtime(help), tensor.name)});
  }
  return texts;
}

// `texts` must outlive the fields.
void Append(std::vector<Field>& fields, const FieldTexts& texts, ByParameter& values, const Range& range,
            std::string_view example) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    fields.emplace_back(texts[k].name, &values[k], texts[k].help, range, example);
  }
}

}  // namespace

std::vector<Field> ModelOptions::Fields() {
  return {
      {"hidden", &hidden, "number of hidden units", {.min = 1, .max = 1e7}},
      {"initial_variance",
       &initial_variance,
       "variance of every visible unit at the start",
       {.min = 0, .min_open = true}},
      {"variance_floor", &variance_floor, "variances are kept at or above this", {.min = 0, .min_open = true}},
      {"labels", &labels,
       "the classes of the data are units of the model, too, so that it can be sampled given a class, and classify: "
       "data need labels (data.label)"},
  };
}

std::vector<Field> TrainOptions::Fields() {
  const Range positive = {.min = 0, .min_open = true};
  const Range natural = {.min = 0};
  const Range share = {.min = 0, .max = 1};
  const Range below_one = {.min = 0, .max = 1, .max_open = true};
  std::vector<Field> fields = {
      {"algorithm", MakeChoice(algorithm, {"noise-cd", "cd", "pcd"}),
       "where the negative chains start: from noise, from the data, or where they were left"},
      {"batch_size", &batch_size, "rows of data, and chains, per update", {.min = 1, .max = 1e7}},
      {"epochs", &epochs, "how often each row is used", positive},
      {"learning_rate", &learning_rate,
       "step of the parameters per unit of gradient (of E/temperature where chains have a law), at the start",
       positive},
      {"learning_rate_schedule", MakeChoice(learning_rate_schedule, {"constant", "cosine"}),
       "the learning rate over training: as it is, or to 0 along a cosine"},
      {"clip_norm", &clip_norm, "gradients longer than this are cut to it; 0: never", natural},
      {"optimizer", MakeChoice(optimizer, {"sgd", "adam"}), "how gradients become steps"},
      {"momentum", &momentum, "share of the last step that is kept; Adam's first decay rate, 0.9 in other programs",
       below_one},
      {"adam_beta2", &adam_beta2, "Adam's second decay rate", below_one, "0.99"},
      {"weight_decay", &weight_decay,
       "W shrinks by learning_rate times this per update, and so do others for which decay_... says so", natural,
       "0.0001"},
      {"average", &average,
       "the model that is written, drawn from and evaluated has the mean of the parameters over training, with weights "
       "that fall "
       "by this factor with each update back: at 0.999 about the last 1,000; 0: the last parameters",
       below_one, "0.999"},
      {"discriminative", &discriminative,
       "labels: weight of the gradient of -log p(y | v) beside that of the likelihood; 0: none. For hidden = "
       "\"probability\", at temperature 1",
       natural, "1"},
      {"keep_labels", &keep_labels,
       "labels: a chain keeps the class that it starts with, as many of each as in the data, so that each class is "
       "learned on its own: for samples that keep theirs (generate.keep_labels) and for telling classes, not for "
       "likelihoods; otherwise the class is drawn with the rest at each step"},
      {"burn_in", &burn_in, "steps of a chain that do not enter the gradient", natural},
      {"start_temperature",
       &start_temperature,
       "noise-cd: chains cool from here to 1 over the burn-in, and those of low weight give way to those of high "
       "weight, so that modes far apart get their shares; 1: no cooling",
       {.min = 1, .max = 1e6}},
      {"hidden", MakeChoice(hidden, {"sample", "probability"}),
       "hidden units in the gradient: states, or their probabilities (Langevin: always probabilities)"},
      {"visible", MakeChoice(visible, {"sample", "mean"}),
       "visible units in the gradient: as the chains have them, or what is expected of them given the step before: the "
       "same on average, with less noise; for hidden = \"probability\", without adjustment"},
      {"centred", &centred,
       "measure v and h from their running means over the data, so that shifted data and flipped hidden units are "
       "learned alike"},
      {"unit_scale", MakeChoice(unit_scale, {"same", "data"}),
       "scale of a visible unit's weights, at the start and in every step: the same for all, or its deviation in the "
       "data "
       "(1 at most), so that what hardly varies is left alone; mu then starts at the data's means"},
      {"step_size_schedule", MakeChoice(step_size_schedule, {"constant", "cosine"}),
       "the sampler's step size over training: as it is, or to 0 along a cosine"},
      {"adjust_warmup_epochs", &adjust_warmup_epochs, "epochs at the start in which no move is rejected", natural, "2"},
      {"restart_fraction", &restart_fraction, "pcd: share of the chains that start anew from noise at an update",
       share},
      {"far_starts", &far_starts,
       "share of the chains that start anew from hidden units of which any share may be on, in place of v ~ N(0, 1): "
       "far from all data, so that states into which only longer chains would fall are found, and unlearned",
       share, "0.25"},
      {"gap_steps",
       &gap_steps,
       "data.gaps = \"sample\": steps of Gibbs sampling, at an update, to missing values given the known ones",
       {.min = 1, .max = 1e6},
       "2"},
      {"gap_start", MakeChoice(gap_start, {"last", "noise"}),
       "data.gaps = \"sample\": where these steps begin: where they ended when the row was last in a batch, which "
       "takes "
       "a bit for each row with gaps and hidden unit, or at noise"},
      {"stop_after", &stop_after,
       "runs end when so many epochs have not improved what stop_on measures on held-out rows (data.held_out), once an "
       "epoch, and model.safetensors is then the best model; 0: they go on to the last epoch",
       natural, "5"},
      {"stop_on",
       MakeChoice(stop_on, {"reconstruction", "pseudo", "labels"}),
       "stop_after: the mean squared error of held-out rows through the hidden units and back, their "
       "pseudo-likelihood, or, with model.labels, the mean log-probability of their classes",
       {},
       "pseudo"},
      {"log_every", &log_every, "updates per line of metrics.jsonl; 0: about 2,000 lines in all", natural, "1"},
  };
  static const FieldTexts kRate =
      TextsOf("rate_{}", "the learning rate of {} is learning_rate times this; 0: it stays as it is");
  static const FieldTexts kDecay = TextsOf("decay_{}", "the weight decay of {} is weight_decay times this");
  static const FieldTexts kClip = TextsOf(
      "clip_{}",
      "gradients of {} longer than this are cut to it, before clip_norm looks at all of them together; 0: never");
  Append(fields, kRate, rate, natural, "0.1");
  Append(fields, kDecay, decay, natural, "0.5");
  Append(fields, kClip, clip, natural, "1");
  return fields;
}

std::vector<Field> CheckpointOptions::Fields() {
  const Range natural = {.min = 0};
  return {
      {"every_steps", &every_steps, "updates between checkpoints; 0: by time only", natural, "1000"},
      {"every_seconds", &every_seconds, "seconds between checkpoints; 0: by updates only", natural, "600"},
      {"keep", &keep, "how many checkpoints to keep", {.min = 1, .max = 1e6}, "5"},
      {"pictures",
       &pictures,
       "pictures of samples from noise that are kept over the run, more of them at its start; 0: none",
       {.min = 0, .max = 1e4},
       "0"},
  };
}

}  // namespace grbm
