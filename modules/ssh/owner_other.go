//go:build !unix

package ssh

import "io/fs"

// owns tells whether a file is the user's. Here that is not told by a number.
func (o owner) owns(fs.FileInfo) bool { return true }
