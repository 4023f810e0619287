package auth

import "os"

// chown does nothing: the file belongs to whom the master runs as.
func chown(*os.File, string) error { return nil }
