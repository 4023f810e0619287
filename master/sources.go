package master

import (
	"context"

	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/schedule"
)

// sourceTasks bring up to date what external pillars keep of other places, as often as git_pillar_update_interval says, so
// that no minion waits for it (salt/master.py, Maintenance.handle_git_pillar).
func (p *parts) sourceTasks() []schedule.Task {
	var tasks []schedule.Task
	for _, s := range p.o.Sources {
		if u, ok := s.(pillar.Updater); ok {
			tasks = append(tasks, schedule.Task{Name: "__ext_pillar_" + s.Name(), Every: seconds(p.settings.all().Value("git_pillar_update_interval")), RunOnStart: true,
				Do: func(ctx context.Context) error { return u.Update(ctx, p.settings.all(), p.o.Log) }})
		}
	}
	return tasks
}
