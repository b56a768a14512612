import { useState } from 'react'

export const meta = () => [{ title: 'React Router in weir' }]

export default function Home() {
  const [count, setCount] = useState(0)
  return (
    <main>
      <h1>Home</h1>
      <button type="button" onClick={() => setCount(count + 1)}>
        Count {count}
      </button>
      <img src="/dot.png" alt="a dot" />
    </main>
  )
}
