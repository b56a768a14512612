// Makes the result of a call from the response of a route.

import { Buffer } from 'node:buffer'

import type { Problem } from 'weirjs'

import type { Tool } from './tools.ts'

/** The CallToolResult of the protocol. */
export interface ToolResult {
  readonly content: readonly object[]
  readonly structuredContent?: object
  readonly isError?: true
}

/** The response has more bytes than a result may have. */
export class ResultTooLarge extends Error {
  constructor(most: number) {
    super(`the response is larger than maxResultSize, which is ${most.toLocaleString('en-US')} bytes`)
  }
}

export function failure(text: string): ToolResult {
  return { content: [textContent(text)], isError: true }
}

export function textContent(text: string): object {
  return { type: 'text', text }
}

/** @throws ResultTooLarge, and what the body fails with */
export async function resultOf(tool: Tool, response: Response, most: number): Promise<ToolResult> {
  const bytes = await bytesOf(response, most)
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  const media = type.trim().toLowerCase()
  const { status } = response
  if (status >= 400) return failure(problemText(status, media, bytes))
  const location = response.headers.get('location')
  if (status >= 300) return { content: [textContent(`${status}${location === null ? '' : `: see ${location}`}`)] }
  if (isJson(media)) {
    const text = bytes.toString('utf8')
    return { content: [textContent(text)], ...(tool.isStructured && { structuredContent: JSON.parse(text) as object }) }
  }
  return { content: bytes.length === 0 ? [] : [contentOf(tool, media, bytes)] }
}

async function bytesOf({ body }: Response, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += piece.length
    if (length > most) throw new ResultTooLarge(most) // leaving the loop cancels the body
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function contentOf({ name }: Tool, media: string, bytes: Buffer): object {
  if (/^text\/|\bxml$/.test(media)) return textContent(bytes.toString('utf8'))
  const data = bytes.toString('base64')
  const [kind] = media.split('/')
  if (kind === 'image' || kind === 'audio') return { type: kind, data, mimeType: media }
  return { type: 'resource', resource: { uri: `tool:${name}`, mimeType: media || 'application/octet-stream', blob: data } }
}

function isJson(media: string): boolean {
  return media === 'application/json' || media.endsWith('+json')
}

/** A refusal as a text for the model. The detail names each value that does not fit. */
function problemText(status: number, media: string, bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (media !== 'application/problem+json') return /^text\/plain|json$/.test(media) && text !== '' ? text : `the response is ${status}`
  const { title, detail } = JSON.parse(text) as Problem
  return detail ?? title
}
