package auth

import "io/fs"

func ownerOf(fs.FileInfo) string { return "" }
