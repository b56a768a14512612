// Finds a program of the same user that runs `local`.

import { randomBytes } from 'node:crypto'
import { get as httpGet } from 'node:http'
import { get as httpsGet } from 'node:https'

import { proofOf } from '../kit/launch.ts'
import { fileIn, type LocalRecord, readRecord } from './local-file.ts'
import { checkName } from './local-name.ts'
import { folderOf, type LocalEnvironment, thisEnvironment } from './local-place.ts'

/** A program that runs. */
export interface FoundLocal {
  /** Where it is, without a slash at the end: `http://127.0.0.1:4000`. */
  readonly url: string
  /** For `Authorization: Bearer …`. A secret: do not print or store it. */
  readonly token: string
  readonly pid: number
}

/** Where a running program proves that it knows the token. */
export const HELLO_PATH = '/_weir/local/hello'
export const CHALLENGE_FIELD = 'weir-challenge'
const PATIENCE_MS = 2_000

/**
 * Finds the program with this name that this user has started with `local`: its address, and the token that it accepts. Whatever is at the
 * address must have proved that it knows the token, which is not sent for that.
 *
 * @param environment for tests
 * @returns null if none runs
 * @throws WEIR_OPTION_INVALID for a name that `local` does not accept
 */
export async function findLocal(name: string, environment: LocalEnvironment = thisEnvironment()): Promise<FoundLocal | null> {
  const found = await findRecord(fileIn(folderOf(environment), checkName('findLocal()', name)), environment)
  return found === null ? null : { url: found.url, token: found.token, pid: found.pid }
}

export async function findRecord(path: string, environment: LocalEnvironment): Promise<LocalRecord | null> {
  const record = readRecord(path, environment)
  return record !== null && isAlive(record.pid) && (await answers(record)) ? record : null
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function answers({ url, token }: LocalRecord): Promise<boolean> {
  const challenge = randomBytes(16).toString('base64url')
  const expected = proofOf(token, challenge)
  return new Promise((resolve) => {
    const isSecure = url.startsWith('https:')
    // A certificate for this machine is hardly signed by anybody. The proof shows who answers.
    const options = {
      headers: { [CHALLENGE_FIELD]: challenge },
      timeout: PATIENCE_MS,
      agent: false,
      ...(isSecure ? { rejectUnauthorized: false } : {}),
    }
    const request = (isSecure ? httpsGet : httpGet)(url + HELLO_PATH, options, (response) => {
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (piece: string) => {
        text += piece
        if (text.length > expected.length) request.destroy()
      })
      response.on('close', () => resolve(text === expected))
    })
    request.on('error', () => resolve(false))
    request.on('timeout', () => request.destroy())
  })
}
