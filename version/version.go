// Package version contains the version of this program and of the Salt release that it replaces.
//
// A release build sets the version by the linker: -ldflags "-X
// github.com/brineproject/brine/version.number=1.2.3". The Go toolchain's own record of the build
// (debug.ReadBuildInfo) supplies the rest of the report.
package version

import "fmt"

// number is this program's own version. It is a variable only so that the linker can set it.
var number = "0.1.0"

// The newest release of Salt 3006, whose behaviour, texts and protocol this program follows. If
// 3006.0 has a bug that a later release of 3006 fixes, it follows the later one.
const (
	salt     = "3006.18"
	codename = "Sulfur"
)

// String returns this program's own version, for example "0.1.0".
func String() string { return number }

// Salt returns the Salt version that this program reports to its peers and in the grain
// saltversion.
func Salt() string { return salt }

// Line returns the output of PROGRAM --version: Salt's own line, which scripts read. Report names
// this program.
func Line(program string) string {
	return fmt.Sprintf("%s %s (%s)", program, salt, codename)
}
