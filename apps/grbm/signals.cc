#include "signals.h"

#include <csignal>

namespace grbm::app {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void CatchInterrupts() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  std::signal(SIGUSR1, OnInterrupt);
}

bool Interrupted() { return interrupted != 0; }

}  // namespace grbm::app
