package auth

import "os"

// chown does nothing: the file belongs to the user of the process.
func chown(*os.File, string) error { return nil }
