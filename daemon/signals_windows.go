package daemon

import "os"

// listened returns the signals of Windows: Ctrl-C and the end of the console or session.
func listened() []os.Signal { return []os.Signal{os.Interrupt} }

func actionOf(os.Signal) action { return actStop }

func signalName(sig os.Signal) string { return sig.String() }

func limitUmask() {}

func outliveConsole() {}
