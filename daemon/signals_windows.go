package daemon

import "os"

// listened are the signals that Windows has: Ctrl-C and the end of the console or of the session.
func listened() []os.Signal { return []os.Signal{os.Interrupt} }

func actionOf(os.Signal) action { return actStop }

func signalName(sig os.Signal) string { return sig.String() }

func limitUmask() {}

func outliveConsole() {}
