//go:build small && !formats

package serializers

import "github.com/brineproject/brine/loader"

func writePlist(any, *options) (any, error) { return nil, noFormat("plist") }

func readPlist(any, *options) (any, error) { return nil, noFormat("plist") }

func writeTOML(any, *options) (any, error) { return nil, noFormat("toml") }

func readTOML(any, *options) (any, error) { return nil, noFormat("toml") }

// noFormat returns the error for a format that a small build leaves out.
func noFormat(name string) error {
	return loader.Execution("This small build has no serializer %s: build with -tags small,formats", name)
}
