test "$(git -C /srv/git-latest rev-parse HEAD)" = "$(git -C /srv/git-source rev-parse main)"
test "$(git -C /srv/git-latest symbolic-ref --short HEAD)" = main
test "$(git -C /srv/git-tag rev-parse HEAD)" = "$(git -C /srv/git-source rev-parse v1)"
test "$(git -C /srv/git-tag symbolic-ref --short HEAD)" = release
not git -C /srv/git-detached symbolic-ref -q HEAD
test "$(cat /srv/git-detached/f)" = one
test "$(cat /srv/git-cloned/f)" = two
git -C /srv/git-present.git rev-parse --git-dir
test "$(git config --global user.name)" = Somebody
test "$(git -C /srv/git-cloned config --get-all foo.many | tr '\n' ,)" = a,b,
