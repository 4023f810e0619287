//go:build !unix

package fileclient

import "os"

func adoptOwner(*os.File, os.FileInfo) error { return nil }
