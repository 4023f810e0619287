// Package version says what program this is and which Salt it stands in for.
//
// A release build sets the version by the linker: -ldflags "-X github.com/brineproject/brine/version.number=1.2.3".
// The Go toolchain's own record of the build (debug.ReadBuildInfo) gives the rest of the report.
package version

import "fmt"

// number is this program's own version. It is a variable, and not a constant, only for the linker to set.
var number = "0.1.0"

// The newest release of Salt 3006, whose behaviour, texts and protocol this program follows. Where 3006.0 was at fault and a
// later release of 3006 is not, it follows the later one.
const (
	salt     = "3006.18"
	codename = "Sulfur"
)

// String returns this program's own version, for example "0.1.0".
func String() string { return number }

// Salt returns the version of Salt that this program tells its peers and that the grain saltversion has.
func Salt() string { return salt }

// Line returns what PROGRAM --version prints: Salt's own line, which scripts read. Report names this program.
func Line(program string) string {
	return fmt.Sprintf("%s %s (%s)", program, salt, codename)
}
