// curl as a client: one run, and the responses that it printed.

import { spawn, spawnSync } from 'node:child_process'

/** Why tests with curl cannot run here, or false. */
export const noCurl: string | false =
  spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not on the PATH: install it to run these tests'

/** One response. Interim ones (100) are included. */
export interface CurlResponse {
  readonly status: number
  readonly protocol: string
  /** The value of a field, the first one if it is repeated, or null. */
  header(name: string): string | null
  readonly body: Buffer
  readonly text: string
}

export interface CurlRun {
  /** The last response. */
  readonly response: CurlResponse
  readonly responses: readonly CurlResponse[]
  /** curl's exit code: 0 if it considered the exchange successful. */
  readonly exitCode: number
  readonly stderr: string
}

/**
 * Runs `curl --include` and reads what it printed. `input` is its standard input. The user's own settings and proxies are ignored. It runs
 * asynchronously, because the server under test is in this same process.
 */
export async function curl(args: readonly string[], input?: Uint8Array): Promise<CurlRun> {
  const own = ['--disable', '--silent', '--show-error', '--noproxy', '*', '--max-time', '30', '--include']
  const child = spawn('curl', [...own, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {}) // curl may have its response before it has read all of its input
  child.stdin.end(input)
  const [stdout, stderr, exitCode] = await Promise.all([
    collect(child.stdout),
    collect(child.stderr),
    new Promise<number>((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code ?? -1))),
  ])
  const responses = readResponses(stdout)
  const response = responses.at(-1)
  if (response === undefined) throw new Error(`curl ${args.join(' ')} got no response, exit code ${exitCode}: ${stderr.toString()}`)
  return { response, responses, exitCode, stderr: stderr.toString() }
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const STATUS_LINE = /(HTTP\/[\d.]+) (\d{3}) /

/** curl has removed the framing, so a body ends where the next status line begins, or with the output. */
function readResponses(output: Buffer): CurlResponse[] {
  const responses: CurlResponse[] = []
  for (let at = 0; at < output.length; ) {
    const headEnd = output.indexOf('\r\n\r\n', at)
    if (headEnd === -1) throw new Error(`no head in ${output.toString('latin1', at)}`)
    const lines = output.toString('latin1', at, headEnd).split('\r\n')
    const next = output.toString('latin1', headEnd + 4).search(STATUS_LINE)
    const end = next === -1 ? output.length : headEnd + 4 + next
    const body = output.subarray(headEnd + 4, end)
    const [, protocol, status] = STATUS_LINE.exec(lines[0]!)!
    const header = (name: string): string | null => {
      const line = lines.find((one) => one.toLowerCase().startsWith(`${name.toLowerCase()}:`))
      return line === undefined ? null : line.slice(name.length + 1).trim()
    }
    responses.push({ status: Number(status), protocol: protocol!, header, body, text: body.toString() })
    at = end
  }
  return responses
}
