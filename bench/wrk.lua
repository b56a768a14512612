-- Sends the requests in a file one after the other, each preceded by a line with its length. Prints the results of wrk as one line of JSON.
local requests = {}
local at = 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  while true do
    local line = file:read('*l')
    if line == nil then break end
    requests[#requests + 1] = file:read(tonumber(line))
  end
  file:close()
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nBENCH {"requests":%d,"microseconds":%d,"p50":%.1f,"p99":%.1f,"errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
