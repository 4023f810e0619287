package auth

import "os"

// chown does nothing: the file belongs to the user of the process.
func chown(*os.File, string) error { return nil }

// belongsTo says no: whether others can read a file is not known.
func belongsTo(os.FileInfo, string) bool { return false }
