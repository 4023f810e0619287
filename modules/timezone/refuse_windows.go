package timezone

import "errors"

func refuse() error {
	return errors.New("The timezone execution module failed to load: win_timezone.py should replace this module on Windows.There was a problem loading win_timezone.py.") //nolint:staticcheck // Salt's text
}
