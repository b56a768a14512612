// `node build/test/churn/golden-spans.js <folder> [--write]`: runs the exchanges of packages/opentelemetry/test with the SDK of OpenTelemetry that
// is installed in the folder, such as another major version, and says how its spans and durations differ from the golden file. `--write`
// writes the golden file.
//
// Not part of `npm test`, which does the same with the SDK that is installed here: other versions need other versions of Node.

import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { GOLDEN, sdkOf, tracedExchanges } from '../../packages/weirjs/test/support/traced-exchanges.ts'

const folder = resolve(process.argv[2] ?? '.')
const require = createRequire(`${folder}/package.json`)
const exchanges = await tracedExchanges(sdkOf(require))
if (process.argv.includes('--write')) writeFileSync(GOLDEN, `${JSON.stringify(exchanges, null, 2)}\n`)
const golden = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Record<string, unknown>
const names = [...new Set([...Object.keys(golden), ...Object.keys(exchanges)])]
const different = names.filter((name) => !isDeepStrictEqual(golden[name], JSON.parse(JSON.stringify(exchanges[name] ?? null))))
for (const name of different)
  console.log(`${name}\n  golden: ${JSON.stringify(golden[name])}\n  now:    ${JSON.stringify(exchanges[name])}`)
const { version } = JSON.parse(readFileSync(`${folder}/node_modules/@opentelemetry/core/package.json`, 'utf8')) as { version: string }
console.log(
  `SDK ${version}, Node ${process.version}: ${names.length - different.length} of ${names.length} exchanges are as in the golden file`,
)
process.exit(different.length === 0 ? 0 : 1)
