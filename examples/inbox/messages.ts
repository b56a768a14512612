// Sending and reading messages.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { bytes, file, HttpError, type Module, multipart, Problem, saveTo, t } from 'weirjs'

import type { Access } from './access.ts'
import { type Attachment, Message, Name, type Store, Text } from './store.ts'

const MIB = 1024 ** 2
const Page = t.named('Page', t.object({ messages: t.array(Message), next: t.int.nullable() }))
const PICTURE_STARTS = [Buffer.from('89504e47', 'hex'), Buffer.from('ffd8ff', 'hex')]
const answers = { 201: Message, 404: Problem }

/** Attachments are files in `folder`. */
export function messages(store: Store, folder: string, { limits, senderOf }: Access): Module {
  return {
    name: 'messages',
    install({ mapGet, mapPost }) {
      const draft = { tool: { name: 'send_message' }, summary: 'Sends a message', to: Name, body: t.object({ text: Text }), answers }
      mapPost('/users/:to/messages', draft, ({ to, body }, session) => store.post(senderOf(session), store.find(to), body.text))

      const body = multipart({ fields: { text: Text }, files: { picture: file({ types: ['image/png', 'image/jpeg'], maxSize: MIB }) } })
      const upload = { to: Name, use: [limits.uploads], answers }
      const picture = { ...upload, summary: 'Sends a message with a picture', body, maxRequestBodySize: 2 * MIB }
      mapPost('/users/:to/pictures', picture, async ({ to, body }, session) => {
        const account = store.find(to)
        const { fileName, size } = await saveTo(folder, body.files.picture, body.files.picture.content, { magic: PICTURE_STARTS })
        return store.post(senderOf(session), account, body.fields.text, { fileName, size })
      })

      // A file of any kind is written to the disk while it arrives.
      const summary = 'Sends a form with one file of any kind'
      const anyFile = { ...upload, summary, body: 'stream', maxRequestBodySize: 1024 * MIB } as const
      mapPost('/users/:to/files', anyFile, async ({ to }, session) => {
        const account = store.find(to)
        const kept: Attachment[] = []
        try {
          const isForm = await session.request.bodyMultipartStream({
            maxParts: 1,
            maxFileSize: session.request.maxRequestBodySize,
            onFile: async (info, content) => {
              const { fileName, size } = await saveTo(folder, info, content)
              kept.push({ fileName, size })
            },
          })
          const attachment = isForm ? kept.pop() : undefined
          if (attachment === undefined) throw new HttpError(400, 'Send a form with one file.')
          return store.post(senderOf(session), account, '', attachment)
        } finally {
          for (const { fileName } of kept) await rm(join(folder, fileName)) // of a form that was cut short
        }
      })

      const page = { before: t.int.optional(), limit: t.int.min(1).max(100).default(20), answers: { 200: Page } }
      mapGet(
        '/messages',
        { ...page, tool: { name: 'list_messages' }, summary: 'Lists messages, the newest first' },
        ({ before = Infinity, limit }, session) => {
          const older = senderOf(session).inbox.filter(({ id }) => id < before)
          const messages = older.slice(-limit).reverse()
          return { messages, next: older.length > limit ? messages.at(-1)!.id : null }
        },
      )

      const sent = { summary: 'Sends the file of a message', id: t.int, answers: { 200: bytes(), 404: Problem } }
      mapGet('/messages/:id/attachment', sent, ({ id }, session) => {
        const attachment = senderOf(session).inbox.find((message) => message.id === id)?.attachment
        if (!attachment) throw new HttpError(404, 'There is no such attachment.')
        return session.response.file(join(folder, attachment.fileName), { download: true })
      })
    },
  }
}
