package change_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// A state that manages a directory, run once in test mode and then twice.
func ExampleThing() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "data")
	present := func(ctx context.Context) {
		ret, err := change.Thing[bool]{
			Name: "data",
			Look: func(context.Context) (bool, error) {
				info, err := os.Stat(dir)
				if os.IsNotExist(err) {
					return false, nil
				}
				return err == nil && info.IsDir(), err
			},
			Wants: func(there bool) *data.Map {
				if there {
					return nil
				}
				return data.NewMap("directory", change.OldNew(nil, "data"))
			},
			Apply: func(context.Context, bool) error { return os.Mkdir(dir, 0o755) },
			Texts: change.Texts{Same: "is there", Would: "would be made", Done: "was made"},
		}.Ensure(ctx)
		fmt.Println(ret.Verdict, ret.Comment, data.Repr(ret.Changes), err)
	}
	present(change.WithCall(context.Background(), &change.Call{Test: true}))
	present(context.Background())
	present(context.Background())
	// Output:
	// None would be made {'directory': {'old': None, 'new': 'data'}} <nil>
	// True was made {'directory': {'old': None, 'new': 'data'}} <nil>
	// True is there {} <nil>
}
