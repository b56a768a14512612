// TAP, with the failed tests named once more before the summary: nobody finds one `not ok` in a log of 300,000 lines.
import { relative } from 'node:path'
import { tap } from 'node:test/reporters'
import { inspect } from 'node:util'

export default async function* report(events) {
  yield* tap(withFailures(events))
}

async function* withFailures(events) {
  const failed = []
  let isSummary = false
  for await (const event of events) {
    if (event.type === 'test:fail' && event.data.details.error?.failureType !== 'subtestsFailed' && !isTodo(event.data))
      failed.push(describe(event.data))
    if (!isSummary && event.type === 'test:diagnostic' && event.data.nesting === 0 && /^tests \d+$/.test(event.data.message)) {
      isSummary = true
      for (const message of failed) yield { type: 'test:diagnostic', data: { ...event.data, message } }
    }
    yield event
  }
}

const isTodo = (data) => data.todo !== undefined && data.todo !== false

function describe({ name, file, line, details }) {
  const error = details.error?.cause ?? details.error
  const said = error?.message ?? error
  const [reason = ''] = (typeof said === 'string' ? said : inspect(said, { depth: 0 })).split('\n') // what another process has thrown may have no text
  return `failed: ${file === undefined ? '' : `${relative('', file)}:${line}: `}${name}: ${reason}`
}
