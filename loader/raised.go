package loader

import "fmt"

// An ExitError is returned by a function that wants its program to end, as sys.exit of Python does.
type ExitError struct{ Code int }

// Error returns Python's name of the exception with the code.
func (e *ExitError) Error() string { return fmt.Sprintf("SystemExit: %d", e.Code) }

// Raised returns e as the error of a function that is not written in Go. frames are the lines of
// its traceback between the first and the last; message is e.Text without e.Info.
func Raised(e Error, frames, message string) error {
	e.frames, e.message = frames, message
	return &e
}
