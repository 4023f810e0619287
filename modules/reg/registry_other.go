//go:build !windows

package reg

import "errors"

// Without Windows there is no registry, and the module is not loaded.

func (place) subkeys() ([]string, error) { return nil, errors.ErrUnsupported }
func (place) values() ([]value, error)   { return nil, errors.ErrUnsupported }
func (place) read(string) (value, error) { return value{}, errors.ErrUnsupported }
func (place) write(value, bool) error    { return errors.ErrUnsupported }
func (place) remove() error              { return errors.ErrUnsupported }
func (place) drop(string) error          { return errors.ErrUnsupported }
func broadcast(string) bool              { return false }
