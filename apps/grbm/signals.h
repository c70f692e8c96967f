// Ctrl-C and kill: the first asks for a clean stop, the second ends the program at once.
#pragma once

namespace grbm::app {

void CatchInterrupts();
bool Interrupted();

}  // namespace grbm::app
