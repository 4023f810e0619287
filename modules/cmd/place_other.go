//go:build unix && !linux

package cmd

import (
	"os/exec"
	"strconv"
)

func octal(mask int) string { return "0" + strconv.FormatInt(int64(mask), 8) }

func (p place) enterApart(c *exec.Cmd, run func() error) error { return p.enterByShell(c, run) }
