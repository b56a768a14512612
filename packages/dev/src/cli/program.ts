// Starts the process of a program, and asks it one question about its server.
//
// The program runs in a process of its own, as the main module, after a preload that replaces the start of servers. Its output goes to stderr, so
// that stdout has only the answer.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'

import { type Answers, isNews, type News, ORDER_VARIABLE, type Order, type Question } from './messages.ts'

/** The program has failed, or has no server. */
export class ProgramError extends Error {}

const STDERR = 2

/** The environment file of programs in this folder. Variables that are already set take precedence. */
export const ENVIRONMENT_FILE: string = resolve('.env')

/** @param args of the program */
export function startProgram(args: readonly string[], order: Order, stdio: StdioOptions): ChildProcess {
  const preload = new URL(`./preload${extname(import.meta.url)}`, import.meta.url)
  const environment = existsSync(ENVIRONMENT_FILE) ? [`--env-file=${ENVIRONMENT_FILE}`] : []
  return spawn(process.execPath, [...process.execArgv, ...environment, '--import', preload.href, order.file, ...args], {
    stdio,
    env: { ...process.env, [ORDER_VARIABLE]: JSON.stringify(order) },
  })
}

/** @throws ProgramError */
export async function askProgram<Q extends Question>(file: string, args: readonly string[], question: Q): Promise<Answers[Q['kind']]> {
  const program = startProgram(args, { task: 'answer', file, question }, ['ignore', STDERR, STDERR, 'ipc'])
  const end = (): void => void program.kill()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  let news: News | null = null
  program.on('message', (message) => {
    if (isNews(message)) news ??= message
  })
  const how = await new Promise<string>((resolve) => program.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`)))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end)
  return answerIn(file, news, how) as Answers[Q['kind']]
}

function answerIn(file: string, news: News | null, how: string): Answers[Question['kind']] {
  if (news?.weir === 'answer') return news.answer
  throw new ProgramError(
    news?.weir === 'no-server' ? news.reason : `${file}: it ended before it had a server (${how}): export the server, or start it`,
  )
}
