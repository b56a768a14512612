// Large uploads: each file is written to the disk while it arrives, so memory use does not grow. Responses are JSON.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { Controller, Route, saveTo } from 'weirjs'

interface Upload {
  readonly field: string
  /** The client's name for the file, which is not trusted. */
  readonly originalName: string | null
  /** The name under which it was saved in the folder. */
  readonly savedAs: string
  readonly size: number
  readonly contentType: string
}

@Route('/user')
export class StreamUploadController extends Controller {
  readonly #folder: string

  constructor(folder: string) {
    super()
    this.#folder = folder
  }

  @Route('POST', '/upload-stream', { summary: 'Saves large files as they arrive', maxRequestBodySize: 1024 ** 3 })
  async upload() {
    const { request, response } = this
    const files: Upload[] = []
    let title: string | null = null
    let isValid = false
    try {
      isValid = await request.bodyMultipartStream({
        maxParts: 200,
        maxFileSize: request.maxRequestBodySize,
        onField(name, value) {
          if (name.toLowerCase() === 'title') title = value
        },
        onFile: async (info, content) => {
          const { fileName, size } = await saveTo(this.#folder, info, content)
          files.push({ field: info.fieldName, originalName: info.fileName, savedAs: fileName, size, contentType: info.contentType })
        },
      })
    } finally {
      if (!isValid) await this.#remove(files) // files that were complete before the form failed: the client does not know of them
    }
    if (!isValid) return response.status(400).json({ ok: false, error: 'The body is not a valid multipart form.' })
    return { ok: true, title, uploadDir: this.#folder, files }
  }

  async #remove(files: readonly Upload[]): Promise<void> {
    for (const { savedAs } of files) await rm(join(this.#folder, savedAs), { force: true })
  }
}
