// Ctrl-C, kill and SIGUSR1, which mpirun passes on at once: the first asks for a clean stop, the second ends the program.
#pragma once

namespace grbm::app {

void CatchInterrupts();
bool Interrupted();

}  // namespace grbm::app
