// `node build/test/churn/drain.js [requests] [drains]`: two servers behind HAProxy, which asks /readyz, are drained and started again in
// turn under load. Counts the requests that fail; none may. By default 100,000 requests.
//
// Not part of `npm test`: it takes a minute. test/proxies/health-drain.test.ts is the short version.

import { drainedLoad } from '../../packages/weirjs/test/support/drained-load.ts'

const requests = Number(process.argv[2] ?? 100_000)
const drains = Number(process.argv[3] ?? 10)
const ends: (() => unknown)[] = []
const report = await drainedLoad(
  { after: (end) => void ends.push(end as () => unknown) },
  { requests, drains, readyDelayMs: 500, clients: 16 },
)
for (const end of ends) await end()
const { answered, failed, handled } = report
console.log(
  `${failed.length} of ${answered + failed.length} requests failed in ${report.drains} drains; the servers answered ${handled.join(' and ')}`,
)
for (const outcome of new Set(failed)) console.log(`  ${outcome}`)
process.exit(failed.length === 0 ? 0 : 1)
