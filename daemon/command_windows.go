package daemon

import "os/exec"

// runTied runs cmd. On Windows it is killed when its context ends.
func runTied(cmd *exec.Cmd) error { return cmd.Run() }
