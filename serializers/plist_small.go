//go:build small

package serializers

import "github.com/brineproject/brine/loader"

func writePlist(any, *options) (any, error) { return nil, noPlist() }

func readPlist(any, *options) (any, error) { return nil, noPlist() }

// noPlist returns the error of a build for small devices, which leaves out the format.
func noPlist() error {
	return loader.Execution("This build for small devices has no serializer plist; use the full salt-minion")
}
