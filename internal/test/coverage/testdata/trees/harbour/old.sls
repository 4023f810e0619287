#!mako|yaml
% for i in range(3):
mast-${i}:
  mast.raised: []
% endfor
