package master

import (
	"context"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
)

// noFiles are the replies of a file server that has no file (salt/fileserver/__init__.py, Fileserver): what is looked
// for is not there. Minions take them as an answer, where they would take the reply to an unknown command for a broken
// connection.
func noFiles() map[string]command {
	return map[string]command{
		"_file_envs":           answer([]any{}),
		"_file_list":           answer([]any{}),
		"_file_list_emptydirs": answer([]any{}),
		"_dir_list":            answer([]any{}),
		"_symlink_list":        answer(data.NewMap()),
		"_file_find":           answer(data.NewMap("path", "", "rel", "")),
		"_file_hash":           answer(""),
		"_file_hash_and_stat":  answer([]any{"", nil}),
		"_serve_file":          answer(data.NewMap("data", "", "dest", "")),
	}
}

// answer is a command with one reply, which nobody changes.
func answer(reply any) command {
	return command{do: func(context.Context, *channel.Command) (any, error) { return reply, nil }}
}
