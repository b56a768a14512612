import Image from 'next/image'

import { Counter } from './counter.jsx'

export default function Home() {
  return (
    <main>
      <h1>Home</h1>
      <Counter />
      <Image src="/dot.png" alt="a dot" width={16} height={16} />
    </main>
  )
}
