package timezone

import "errors"

func refuse() error {
	return errors.New("The timezone execution module failed to load: mac_timezone.py should replace this module on macOS.There was a problem loading mac_timezone.py.") //nolint:staticcheck // Salt's text
}
