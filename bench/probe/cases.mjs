// Loads Http11Probe's cases from a checkout or a git directory, and runs one against a server.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { fromAscii, names, runtime } from './dotnet.mjs'
import { ProbeConnection, readResponse } from './exchange.mjs'
import { translate } from './translate.mjs'

const SUITES = 'src/Http11Probe/TestCases/Suites'

/** The suites in the order in which the board runs them, and the functions that return their cases. */
const ORDER = [
  ['ComplianceSuite', 'GetTestCases'],
  ['SmugglingSuite', 'GetTestCases'],
  ['SmugglingSuite', 'GetSequenceTestCases'],
  ['MalformedInputSuite', 'GetTestCases'],
  ['NormalizationSuite', 'GetTestCases'],
  ['CapabilitiesSuite', 'GetSequenceTestCases'],
  ['CookieSuite', 'GetTestCases'],
]

/** @param {string} place @param {string[]} args */
const git = (place, ...args) => execFileSync('git', ['-C', place, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 })

/** @param {string} place @param {string} path */
function read(place, path) {
  return existsSync(join(place, path)) ? readFileSync(join(place, path), 'utf8') : git(place, 'show', `HEAD:${path}`)
}

/** @param {string} place */
function suiteNames(place) {
  const listed = git(place, 'ls-tree', '--name-only', 'HEAD', `${SUITES}/`)
  return listed
    .trim()
    .split('\n')
    .map((path) => path.slice(SUITES.length + 1).replace(/\.cs$/, ''))
}

/** The commit of the cases. @param {string} place */
export const versionOf = (place) => git(place, 'log', '-1', '--format=%h of %cs').trim()

/** How many cases the text of the suites declares, counted without the translator. @param {string} place */
export function declaredCases(place) {
  return suiteNames(place).reduce(
    (sum, name) => sum + [...read(place, `${SUITES}/${name}.cs`).matchAll(/new (?:Sequence)?TestCase\s*\{/g)].length,
    0,
  )
}

/**
 * Every case of the board, and every one that could not be translated.
 * @param {string} place
 */
export function loadCases(place) {
  const failures = []
  const suites = new Map()
  for (const name of suiteNames(place)) {
    const unit = translate(read(place, `${SUITES}/${name}.cs`))
    failures.push(...unit.failures)
    const members = [...new Set(ORDER.filter(([suite]) => suite === name).map(([, member]) => member))]
    if (members.length === 0) failures.push({ id: name, reason: 'a suite that the order of this program does not name' })
    const keys = Object.keys(names)
    const code = `'use strict'\n${unit.code}\nreturn { ${members.map((member) => `${member}: $_${member}`).join(', ')} }`
    const load = new Function('$', ...keys.map((key) => `$_${key}`), code)
    suites.set(name, load(runtime, ...keys.map((key) => names[key])))
  }
  const cases = []
  for (const [suite, member] of ORDER) cases.push(...suites.get(suite)[member]())
  return { cases, failures }
}

/** The verdict of a case without a validator of its own. @param {any} expected @param {any} response @param {string} state */
function evaluate(expected, response, state) {
  if (expected.CustomValidator !== null) return expected.CustomValidator(response, state)
  if (expected.ExpectedConnectionState === state) return 'Pass'
  if (response === null) return expected.AllowConnectionClose ? 'Pass' : 'Fail'
  return expected.ExpectedStatus?.Contains(response.StatusCode) ? 'Pass' : 'Fail'
}

/**
 * @typedef {{ id: string, category: string, scored: boolean, level: string, description: string, verdict: string, status: number | null, state: string,
 *   note: string | null, sent: string[], got: string[], error: string | null }} Result
 */

/**
 * Runs one case on a connection of its own.
 * @param {any} test @param {string} host @param {number} port @returns {Promise<Result>}
 */
export async function runCase(test, host, port) {
  const result = /** @type {Result} */ ({
    id: test.Id,
    category: test.Category,
    scored: test.Scored,
    level: test.RfcLevel,
    description: test.Description,
    verdict: 'Error',
    status: null,
    state: 'Error',
    note: null,
    sent: [],
    got: [],
    error: null,
  })
  let connection
  try {
    connection = await ProbeConnection.open(host, port)
    const context = { Host: host, Port: port, HostHeader: port === 80 ? host : `${host}:${port}` }
    await (test.type === 'SequenceTestCase' ? runSteps(test, connection, context, result) : runOne(test, connection, context, result))
  } catch (error) {
    result.error = String(error)
  }
  connection?.close()
  return result
}

/** @param {any} test @param {ProbeConnection} connection @param {any} context @param {Result} result */
async function runOne(test, connection, context, result) {
  const payload = Buffer.from(test.PayloadFactory(context))
  result.sent.push(fromAscii(payload))
  if (!(await connection.send(payload))) throw new Error('the server closed the connection before everything was sent')
  const { bytes, state } = await connection.receive()
  result.got.push(fromAscii(bytes))
  const response = readResponse(bytes)
  result.state = state === 'Open' ? await connection.stateAfter() : state
  result.status = response?.StatusCode ?? null
  result.verdict = evaluate(test.Expected, response, result.state)
  result.note = test.BehavioralAnalyzer?.(response) ?? null
}

/** @param {any} test @param {ProbeConnection} connection @param {any} context @param {Result} result */
async function runSteps(test, connection, context, result) {
  const steps = /** @type {any[]} */ ([])
  let state = 'Open'
  for (const [i, step] of test.Steps.entries()) {
    const label = step.Label ?? `Step ${i + 1}`
    if (state !== 'Open') {
      steps.push({ Label: label, Executed: false, Response: null, ConnectionState: state, RawRequest: null })
      continue
    }
    const parts = step.SendPartsFactory?.(context) ?? [
      {
        PayloadFactory: step.DynamicPayloadFactory === null ? step.PayloadFactory : () => step.DynamicPayloadFactory(context, steps),
        DelayAfter: 0,
      },
    ]
    const payloads = parts.map((/** @type {any} */ part) => Buffer.from(part.PayloadFactory(context)))
    const request = payloads.map(fromAscii).join('')
    result.sent.push(request)
    for (const [at, part] of parts.entries()) {
      if (!(await connection.send(payloads[at]))) break
      if (part.DelayAfter === 0) continue
      await pause(part.DelayAfter)
      if (connection.state() !== 'Open') break
    }
    const received = await connection.receive()
    result.got.push(fromAscii(received.bytes))
    const response = readResponse(received.bytes)
    result.status = response?.StatusCode ?? result.status
    state = received.state === 'Open' ? await connection.stateAfter() : received.state
    steps.push({ Label: label, Executed: true, Response: response, ConnectionState: state, RawRequest: request })
  }
  result.state = state
  result.verdict = test.Validator(steps)
  result.note = test.BehavioralAnalyzer?.(steps) ?? null
}
