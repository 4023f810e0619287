//go:build !windows

package winservice

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("Module win_service: module only works on Windows.") //nolint:staticcheck // Salt's text
}
