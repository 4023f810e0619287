package daemon

import "os/exec"

// runTied runs cmd; on Windows it is killed when its context ends.
func runTied(cmd *exec.Cmd) error { return cmd.Run() }
