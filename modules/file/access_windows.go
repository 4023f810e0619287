package file

import "golang.org/x/sys/windows"

// may reports whether a file exists and, to write, is not read-only. Like the C library on Windows
// it does not read access control lists.
func may(path string, want permission) bool {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false
	}
	attributes, err := windows.GetFileAttributes(name)
	const both = windows.FILE_ATTRIBUTE_READONLY | windows.FILE_ATTRIBUTE_DIRECTORY
	return err == nil && (want != mayWrite || attributes&both != windows.FILE_ATTRIBUTE_READONLY)
}
