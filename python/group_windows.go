package python

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
)

// errWindows is returned for Python plug-ins on Windows, which has no fork.
var errWindows = errors.New("Python plug-ins do not run on Windows") //nolint:staticcheck // a name

func startGroup(*exec.Cmd) error { return errWindows }

func startBound(*exec.Cmd) (chan struct{}, error) { return nil, errWindows }

func killGroup(int) {}

func killProcess(int) {}

func ending(_, _ byte) string { return "" }

func hungUp(*net.UnixConn) bool { return false }

func socketPair() (a, b *os.File, err error) { return nil, nil, errWindows }

func useDirectory(string) (io.Closer, error) { return nil, errWindows }

func removeUnused(string) {}

func rights(int) []byte { return nil }
